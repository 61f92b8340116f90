#![no_main]

logsegment_fuzz::plain!("lz4");
