#![no_main]

logsegment_fuzz::mended!("v3");
