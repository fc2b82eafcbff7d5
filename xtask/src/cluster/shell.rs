//! What stands in for ssh: a server on each machine, which is reached over the network, so that a pulled cable cuts it too.
//!
//! A connection is a line that a shell reads, in an environment of its own, and then the command's standard input and output;
//! its standard error is the server's. Exit statuses are lost.

use super::machines::{address, name};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing else listens there: a network of its own.
const PORT: u16 = 2222;
/// How long a machine may take to answer.
const LIMIT: Duration = Duration::from_secs(5);

/// The server of the machine that it is started on.
pub(super) fn serve() -> Result<ExitCode, String> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).map_err(|error| format!("port {PORT}: {error}"))?;
    println!("up");
    for stream in listener.incoming() {
        let stream = stream.map_err(|error| error.to_string())?;
        // A client that says nothing gets nothing.
        thread::spawn(move || answer(stream));
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut line = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte)? == 1 && byte[0] != 0 {
        line.push(byte[0]);
    }
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(String::from_utf8_lossy(&line).as_ref()).env_clear();
    for name in ["PATH", "HOME"] {
        shell.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    let output = OwnedFd::from(stream.try_clone()?);
    let mut child = shell.stdin(Stdio::from(OwnedFd::from(stream))).stdout(Stdio::from(output)).spawn()?;
    // The command holds the connection now, and what it has started.
    drop(shell);
    child.wait().map(drop)
}

/// The client: options, a host, and words.
pub(super) fn connect(words: &[OsString]) -> Result<ExitCode, String> {
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned()).peekable();
    while let Some(option) = words.next_if(|word| word.starts_with('-')) {
        if matches!(option.as_str(), "-o" | "-p" | "-l" | "-i") {
            words.next();
        }
    }
    let host = words.next().ok_or("a host is needed")?;
    let host = host.split_once('@').map_or(host.as_str(), |(_, host)| host);
    let known = (0..64).find(|at| host == name(*at)).map(address);
    let begin = Instant::now();
    let mut stream = loop {
        match TcpStream::connect((known.as_deref().unwrap_or(host), PORT)) {
            Ok(stream) => break stream,
            Err(error) if begin.elapsed() > LIMIT => return Err(format!("{host}: {error}")),
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    };
    let line = words.collect::<Vec<_>>().join(" ");
    let sent = stream.write_all(line.as_bytes()).and_then(|()| stream.write_all(&[0]));
    let input = sent.and_then(|()| stream.try_clone()).map_err(|error| format!("{host}: {error}"))?;
    thread::spawn(move || {
        // What cannot be sent is lost with the connection.
        let _ = pass_on(&mut io::stdin(), &mut &input);
        let _ = input.shutdown(Shutdown::Write);
    });
    pass_on(&mut stream, &mut io::stdout()).map_err(|error| format!("{host}: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Passes bytes on as they come.
fn pass_on(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            count => to.write_all(&buffer[..count]).and_then(|()| to.flush())?,
        }
    }
}
