import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaDeserializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaDeserializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.io.ByteArrayOutputStream;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Writes values with Apicurio's serializers and reads them with its deserializers: a list of works in, a list of answers out, as JSON.
 *
 * <p>A work {"kind", "topic", "config", "schema", "values"} is answered by records {"value", "headers": [[name, value]]}, a work {"kind", "topic",
 * "config", "records"} by values. Values of JSON are what they are; others are base64: Avro's binary encoding, a message. The schema of
 * Protobuf is its FileDescriptorProto, and "message" the number of its message.
 */
public final class ApicurioValues {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] arguments) throws Exception {
    ArrayNode answers = JSON.createArrayNode();
    for (JsonNode work : JSON.readTree(System.in)) {
      answers.add(work.has("records") ? read(work) : written(work));
    }
    System.out.println(answers);
    System.out.flush();
    // The client of the registry leaves threads behind.
    System.exit(0);
  }

  private static ArrayNode written(JsonNode work) throws Exception {
    ArrayNode records = JSON.createArrayNode();
    try (Serializer<Object> serializer = serializer(work.get("kind").asText())) {
      serializer.configure(config(work), work.path("isKey").asBoolean());
      for (JsonNode value : work.get("values")) {
        Headers headers = new RecordHeaders();
        ObjectNode record = records.addObject();
        record.put("value", serializer.serialize(work.get("topic").asText(), headers, datum(work, value)));
        ArrayNode named = record.putArray("headers");
        for (Header header : headers) {
          named.addArray().add(header.key()).add(header.value());
        }
      }
    }
    return records;
  }

  private static ArrayNode read(JsonNode work) throws Exception {
    ArrayNode values = JSON.createArrayNode();
    try (Deserializer<Object> deserializer = deserializer(work.get("kind").asText())) {
      deserializer.configure(config(work), work.path("isKey").asBoolean());
      for (JsonNode record : work.get("records")) {
        Headers headers = new RecordHeaders();
        for (JsonNode header : record.get("headers")) {
          headers.add(header.get(0).asText(), header.get(1).binaryValue());
        }
        values.add(encoded(deserializer.deserialize(work.get("topic").asText(), headers, record.get("value").binaryValue())));
      }
    }
    return values;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Serializer<Object> serializer(String kind) {
    return switch (kind) {
      case "avro" -> new AvroKafkaSerializer<>();
      case "json" -> new JsonSchemaKafkaSerializer<>();
      default -> (Serializer) new ProtobufKafkaSerializer<Message>();
    };
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Deserializer<Object> deserializer(String kind) {
    return switch (kind) {
      case "avro" -> new AvroKafkaDeserializer<>();
      case "json" -> new JsonSchemaKafkaDeserializer<>();
      default -> (Deserializer) new ProtobufKafkaDeserializer<Message>();
    };
  }

  private static Map<String, Object> config(JsonNode work) {
    return JSON.convertValue(work.get("config"), HashMap.class);
  }

  private static Object datum(JsonNode work, JsonNode value) throws Exception {
    switch (work.get("kind").asText()) {
      case "avro":
        Schema schema = new Schema.Parser().parse(work.get("schema").asText());
        return new GenericDatumReader<>(schema).read(null, DecoderFactory.get().binaryDecoder(value.binaryValue(), null));
      case "json":
        return JSON.convertValue(value, Map.class);
      default:
        FileDescriptorProto file = FileDescriptorProto.parseFrom(work.get("schema").binaryValue());
        FileDescriptor built = FileDescriptor.buildFrom(file, new FileDescriptor[0]);
        return DynamicMessage.parseFrom(built.getMessageTypes().get(work.get("message").asInt()), value.binaryValue());
    }
  }

  private static JsonNode encoded(Object datum) throws Exception {
    if (datum instanceof GenericRecord record) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
      new GenericDatumWriter<>(record.getSchema()).write(record, encoder);
      encoder.flush();
      return JSON.getNodeFactory().binaryNode(out.toByteArray());
    }
    return datum instanceof Message message ? JSON.getNodeFactory().binaryNode(message.toByteArray()) : JSON.valueToTree(datum);
  }
}
