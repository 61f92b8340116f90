import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import kafka.message.ByteBufferMessageSet;
import kafka.message.CompressionCodec;
import kafka.message.GZIPCompressionCodec$;
import kafka.message.LZ4CompressionCodec$;
import kafka.message.Message;
import kafka.message.MessageAndOffset;
import kafka.message.NoCompressionCodec$;
import kafka.message.SnappyCompressionCodec$;
import scala.collection.Iterator;
import scala.collection.JavaConversions;

/** The message sets of the Scala consumer, producer and broker of 0.8. */
public final class Scala08 implements Peer.Driver {
    @Override
    public void read(ByteBuffer entries, Rows rows) {
        ByteBufferMessageSet set = new ByteBufferMessageSet(entries);
        for (Iterator<MessageAndOffset> outer = set.shallowIterator(); outer.hasNext(); ) {
            outer.next().message().ensureValid();
        }
        for (Iterator<MessageAndOffset> deep = set.iterator(); deep.hasNext(); ) {
            MessageAndOffset next = deep.next();
            Message message = next.message();
            message.ensureValid();
            rows.add(next.offset(), -1, -1, Rows.bytes(message.key()), Rows.bytes(message.payload()), Collections.emptyList());
        }
    }

    @Override
    public ByteBuffer write(Rows.Spec spec) {
        List<ByteBuffer> sets = new ArrayList<>();
        for (List<Rows.Row> batch : spec.batches) {
            List<Message> messages = new ArrayList<>();
            for (Rows.Row row : batch) {
                messages.add(new Message(row.value, row.key, NoCompressionCodec$.MODULE$));
            }
            AtomicLong offset = new AtomicLong(batch.get(0).offset);
            sets.add(new ByteBufferMessageSet(codec(spec.codec), offset, JavaConversions.asScalaBuffer(messages)).buffer());
        }
        return joined(sets);
    }

    private static CompressionCodec codec(String name) {
        switch (name) {
            case "none":
                return NoCompressionCodec$.MODULE$;
            case "gzip":
                return GZIPCompressionCodec$.MODULE$;
            case "snappy":
                return SnappyCompressionCodec$.MODULE$;
            case "lz4":
                return LZ4CompressionCodec$.MODULE$;
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static ByteBuffer joined(List<ByteBuffer> parts) {
        ByteBuffer all = ByteBuffer.allocate(parts.stream().mapToInt(ByteBuffer::remaining).sum());
        parts.forEach(part -> all.put(part.duplicate()));
        all.flip();
        return all;
    }
}
