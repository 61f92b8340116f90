#![no_main]

logsegment_fuzz::plain!("damage");
