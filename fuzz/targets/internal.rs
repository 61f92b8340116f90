#![no_main]

logsegment_fuzz::plain!("internal");
