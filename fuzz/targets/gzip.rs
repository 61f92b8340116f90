#![no_main]

logsegment_fuzz::plain!("gzip");
