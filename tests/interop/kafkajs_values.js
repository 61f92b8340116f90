// Encodes values with schemas that it registers, and decodes values: a JSON text in, a JSON text out.
//
// {"url", "encode": [{"subject", "type", "schema", "values": [...]}]} gives [[base64, ...], ...],
// {"url", "decode": [base64, ...]} gives the values. Bytes inside of values have the form that JSON.stringify gives a Buffer.
"use strict";

const { SchemaRegistry } = require("@kafkajs/confluent-schema-registry");

async function encoded(registry, { subject, type, schema, values }) {
  const { id } = await registry.register({ type, schema }, { subject });
  const bytes = await Promise.all(values.map((value) => registry.encode(id, value)));
  return bytes.map((one) => one.toString("base64"));
}

async function main() {
  let text = "";
  for await (const part of process.stdin.setEncoding("utf8")) text += part;
  const revived = (_, value) => (value && value.type === "Buffer" ? Buffer.from(value.data) : value);
  const { url, encode, decode } = JSON.parse(text, revived);
  const registry = new SchemaRegistry({ host: url });
  const work = encode
    ? encode.map((one) => encoded(registry, one))
    : decode.map((one) => registry.decode(Buffer.from(one, "base64")));
  console.log(JSON.stringify(await Promise.all(work)));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
