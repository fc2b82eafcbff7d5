//! A channel of a shared object: the example keeps the contract, loaded and opened as a job does it; and what is wrong with an
//! object is said in one line that names the file.

#![allow(missing_docs)]

use rma_ch_c::{Meeting, Plugin};
use rma_core::channel::Channel;
use rma_core::channel::conformance::Fixture;
use rma_core::ids::Peer;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn compile(options: &[&str], files: &[PathBuf], to: &Path) {
    let mut command = Command::new("cc");
    command.args(["-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "-g"]);
    command.args(options).arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../rma-embed/include"));
    command.arg("-I").arg(examples().join("embed-c")).args(files).arg("-o").arg(to);
    let output = command.output().expect("a C compiler");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn load(object: &Path) -> Result<Plugin, String> {
    // SAFETY: objects of this file, made of the example and of variants that the checks find out.
    unsafe { Plugin::load(object) }
}

/// The example, compiled and loaded once.
fn example() -> &'static Plugin {
    static EXAMPLE: OnceLock<Plugin> = OnceLock::new();
    EXAMPLE.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let object = directory.path().join("libtoy.so");
        let sources = ["plugin-c/plugin.c", "embed-c/channel.c"].map(|name| examples().join(name));
        compile(&[], &sources, &object);
        load(&object).unwrap()
    })
}

/// Where the processes of one job leave their addresses.
struct Addresses(Arc<Mutex<Vec<Option<String>>>>, Peer);

impl Meeting for Addresses {
    fn publish(&self, address: &str) -> Result<(), String> {
        self.0.lock().unwrap()[self.1.0 as usize] = Some(address.to_owned());
        Ok(())
    }

    fn find(&self, peer: Peer) -> Result<String, String> {
        self.0.lock().unwrap()[peer.0 as usize].clone().ok_or_else(|| "none".to_owned())
    }
}

struct Example;

impl Fixture for Example {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        let addresses = Arc::new(Mutex::new(vec![None; count as usize]));
        let open = |me: u32| {
            let meeting = Box::new(Addresses(Arc::clone(&addresses), Peer(me)));
            example().open((Peer(me), count), ("suite", [7; 32]), "127.0.0.1", meeting).unwrap()
        };
        (0..count).map(open).collect()
    }

    fn largest_body(&self) -> usize {
        300_000
    }
}

mod keeps_the_contract {
    use super::*;
    rma_core::channel_conformance!(Example);
}

#[test]
fn an_object_says_what_it_brings() {
    let example = example();
    assert_eq!((example.name(), example.costs_ns()), ("x_toy", (Some(20_000), None)));
    assert_eq!(example.probe().unwrap(), "Unix sockets of the kernel");
    assert!(example.text().contains("Unix sockets"), "{}", example.text());
}

/// A plug-in with the fields that are given, beside those of a right one.
fn made(fields: &str, channel: &str) -> String {
    format!(
        "#include \"rma.h\"\n\
         static int r(void *c, uint32_t p, int l, size_t n, void **m) {{ (void)c, (void)p, (void)l, (void)n, (void)m; return 4; }}\n\
         static void k(void *c) {{ (void)c; }}\n\
         static int b(void *c, uint32_t p, int l, const void *h, size_t n, rma_area *a, uint64_t t)\n\
         {{ (void)c, (void)p, (void)l, (void)h, (void)n, (void)a, (void)t; return 4; }}\n\
         static int q(void *c, rma_sink *s) {{ (void)c, (void)s; return 0; }}\n\
         static int i(void *c) {{ (void)c; return 1; }}\n\
         static int o(const rma_opening *p, void **c, char *w, size_t n) {{ (void)p, (void)c, (void)w, (void)n; return 16; }}\n\
         const rma_channel_table table = {{.size = sizeof table, .name = \"x_made\", .max_packet = 1024, .reserve = r,\n\
         .commit = k, .send_bulk = b, .poll = q, .arm = i, .close = i{channel}}};\n\
         const rma_plugin rma_channel_plugin = {{.size = sizeof rma_channel_plugin, .version = RMA_VERSION,\n\
         .node_cost_ns = 1, .channel = &table, .open = o{fields}}};\n"
    )
}

#[test]
fn what_is_wrong_with_an_object_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let cases = [
        ("version", made(", .version = 7", ""), "version 7 of rma.h, but 1 is expected"),
        ("size", made(", .size = 16", ""), "rma_channel_plugin has size 16, but 56 is expected"),
        ("open", made(", .open = 0", ""), "no function open"),
        ("poll", made("", ", .poll = 0"), "no function poll"),
        ("table", made(", .channel = 0", ""), "the plug-in's channel is null"),
        ("table_size", made("", ", .size = 8"), "the plug-in's channel has size 8"),
        ("name", made("", ", .name = 0"), "name is null or empty"),
        ("packet", made("", ", .max_packet = 16"), "max_packet is 16, but 192 to 2^30"),
        ("cost", made(", .node_cost_ns = 0", ""), "reaches no process"),
        (
            "symbol",
            "int rma_channel_plugins;\n".to_owned(),
            "`const rma_plugin rma_channel_plugin` of rma.h is expected",
        ),
    ];
    for (name, source, expected) in cases {
        let (from, to) =
            (directory.path().join(format!("{name}.c")), directory.path().join(format!("{name}.so")));
        std::fs::write(&from, source).unwrap();
        compile(&["-O0", "-Wno-override-init"], &[from], &to);
        let error = load(&to).unwrap_err();
        assert!(error.contains(expected) && error.contains(to.to_str().unwrap()), "{name}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let missing = directory.path().join("missing.so");
    let error = load(&missing).unwrap_err();
    assert!(error.contains("cannot be loaded") && error.contains("missing.so"), "{error}");
}

#[test]
fn what_an_object_answers_to_open_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("made.c"), directory.path().join("made.so"));
    std::fs::write(&from, made("", "")).unwrap();
    compile(&[], &[from], &to);
    let addresses = Addresses(Arc::new(Mutex::new(vec![None; 2])), Peer(0));
    let opened = load(&to).unwrap().open((Peer(0), 2), ("job", [0; 32]), "::1", Box::new(addresses));
    let error = opened.err().unwrap();
    assert!(error.contains("its open answered 16") && error.contains("made.so"), "{error}");
}
