#![no_main]

logsegment_fuzz::mended!("convert");
