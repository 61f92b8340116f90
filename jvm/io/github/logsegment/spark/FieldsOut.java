package io.github.logsegment.spark;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.function.Consumer;

/** Fields as the library reads them: numbers are big-endian, texts and lists have their length first. */
final class FieldsOut {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final DataOutputStream out = new DataOutputStream(bytes);

  byte[] toBytes() {
    return bytes.toByteArray();
  }

  FieldsOut number(long value) {
    return written(() -> out.writeLong(value));
  }

  FieldsOut flag(boolean value) {
    return number(value ? 1 : 0);
  }

  FieldsOut bytes(byte[] value) {
    return written(() -> out.writeInt(value.length)).raw(value);
  }

  FieldsOut text(String value) {
    return bytes(value.getBytes(StandardCharsets.UTF_8));
  }

  FieldsOut raw(byte[] fields) {
    return written(() -> out.write(fields));
  }

  <T> FieldsOut list(Collection<T> items, Consumer<T> item) {
    written(() -> out.writeInt(items.size()));
    items.forEach(item);
    return this;
  }

  private FieldsOut written(Writing writing) {
    try {
      writing.run();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return this;
  }

  private interface Writing {
    void run() throws IOException;
  }
}
