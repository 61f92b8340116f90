import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.avro.AvroTypeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;

/**
 * Reads values of one schema as another one and writes them with that: a line {"writer", "reader", "values": [base64]} in, a line [base64] out.
 * Null stands for a value that Avro refuses.
 */
public final class AvroResolve {
  public static void main(String[] arguments) throws Exception {
    ObjectMapper json = new ObjectMapper();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonNode work = json.readTree(line);
      Schema writer = new Schema.Parser().parse(work.get("writer").asText());
      Schema reader = new Schema.Parser().parse(work.get("reader").asText());
      ArrayNode found = json.createArrayNode();
      for (JsonNode value : work.get("values")) {
        found.add(resolved(value.binaryValue(), writer, reader));
      }
      System.out.println(found);
    }
  }

  private static byte[] resolved(byte[] value, Schema writer, Schema reader) throws Exception {
    try {
      Object datum = new GenericDatumReader<>(writer, reader).read(null, DecoderFactory.get().binaryDecoder(value, null));
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
      new GenericDatumWriter<>(reader).write(datum, encoder);
      encoder.flush();
      return out.toByteArray();
    } catch (AvroTypeException refused) {
      return null;
    }
  }
}
