package io.github.logsegment.spark;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Fields as the library writes them; see `FieldsOut`. */
final class FieldsIn {
  private final ByteBuffer bytes;

  FieldsIn(byte[] bytes) {
    this.bytes = ByteBuffer.wrap(bytes);
  }

  long number() {
    return bytes.getLong();
  }

  boolean flag() {
    return number() != 0;
  }

  byte[] bytes() {
    byte[] value = new byte[bytes.getInt()];
    bytes.get(value);
    return value;
  }

  String text() {
    return new String(bytes(), StandardCharsets.UTF_8);
  }

  /** A text, or null. */
  String givenText() {
    return flag() ? text() : null;
  }

  <T> List<T> list(Function<FieldsIn, T> item) {
    int count = bytes.getInt();
    List<T> items = new ArrayList<>();
    for (int index = 0; index < count; index++) {
      items.add(item.apply(this));
    }
    return items;
  }
}
