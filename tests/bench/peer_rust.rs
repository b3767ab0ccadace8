// Rust's std::process starting the tiny program and collecting both of its streams.
// Usage: peer_rust MB TINY
use std::io::BufRead;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn spawn(tiny: &str) -> f64 {
    let start = Instant::now();
    match Command::new(tiny).stdin(Stdio::null()).output() {
        Ok(done) if done.status.success() && done.stdout == b"ok\n" => {
            start.elapsed().as_nanos() as f64 / 1e3
        }
        _ => -1.0,
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut ballast = vec![0u8; words[1].parse::<usize>().unwrap() << 20];
    for page in ballast.chunks_mut(4096) {
        page[0] = 1;
    }
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let ms: f64 = line.split(' ').nth(1).unwrap().parse().unwrap();
        let end = Instant::now() + Duration::from_nanos((ms * 1e6) as u64);
        let mut samples = vec![];
        loop {
            samples.push(spawn(&words[2]));
            if *samples.last().unwrap() < 0.0 || Instant::now() >= end {
                break;
            }
        }
        samples.sort_by(|a, b| a.partial_cmp(b).unwrap());
        println!("{}", samples[samples.len() / 2]);
    }
    assert!(ballast[0] == 1);
}
