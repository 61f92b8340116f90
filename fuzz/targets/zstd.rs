#![no_main]

logsegment_fuzz::plain!("zstd");
