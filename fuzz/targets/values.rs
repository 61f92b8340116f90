#![no_main]

logsegment_fuzz::plain!("values");
