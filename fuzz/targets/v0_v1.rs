#![no_main]

logsegment_fuzz::mended!("v0_v1");
