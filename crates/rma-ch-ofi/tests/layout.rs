//! The declarations are those of libfabric's headers, where these are installed.

#![allow(missing_docs)]

use std::fmt::Write;
use std::process::Command;

const HEADERS: &str = "/usr/include/rdma/fabric.h";

#[test]
fn declarations_are_those_of_the_headers() {
    if !std::path::Path::new(HEADERS).exists() {
        eprintln!("skipped: {HEADERS} is not installed (package libfabric-dev)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("layout.c"), folder.path().join("layout"));
    let layout = rma_ch_ofi::layout();
    let mut text = String::from("#include <stdio.h>\n#include <stddef.h>\n");
    for header in ["fabric", "fi_domain", "fi_endpoint", "fi_cm", "fi_eq", "fi_errno", "fi_rma"] {
        let _ = writeln!(text, "#include <rdma/{header}.h>");
    }
    text += "int main(void)\n{\n";
    for (expression, _) in &layout {
        let _ = writeln!(text, "    printf(\"%llu\\n\", (unsigned long long)({expression}));");
    }
    text += "    return 0;\n}\n";
    std::fs::write(&source, text).unwrap();
    let built = Command::new("cc").arg(&source).arg("-o").arg(&program).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let said = Command::new(&program).output().unwrap().stdout;
    let said = String::from_utf8(said).unwrap();
    let theirs: Vec<u64> = said.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(theirs.len(), layout.len());
    for ((expression, ours), theirs) in layout.iter().zip(theirs) {
        assert_eq!(*ours, theirs, "{expression}");
    }
}
