import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Answers one line for each line of its standard input, so that one JVM serves many files.
 *
 * <pre>
 * read IN OUT      the records of IN, as rows, into OUT           -> "ok COUNT"
 * write SPEC OUT   the rows of SPEC, as log entries, into OUT     -> "ok BYTES"
 * ...              what else this version can do (see its driver) -> "ok ..."
 * </pre>
 *
 * Words are separated by tabs. A failure is answered with "error CLASS: MESSAGE", and the next line is read. The first argument names the
 * driver, a class that calls one version of Kafka.
 */
public final class Peer {
    /** What one version of Kafka can do with bytes. */
    public interface Driver {
        /** Add every record of these log entries, checksums verified. */
        void read(ByteBuffer entries, Rows rows) throws Exception;

        /** Make log entries of these rows. */
        ByteBuffer write(Rows.Spec spec) throws Exception;

        /** Carry out a command of this driver alone; the result is told after "ok". */
        default String other(String[] words) throws Exception {
            throw new UnsupportedOperationException(words[0]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Driver driver = (Driver) Class.forName(arguments[0]).getDeclaredConstructor().newInstance();
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(answer(driver, line.split("\t")));
            answers.flush();
        }
        System.exit(0);
    }

    private static String answer(Driver driver, String[] words) {
        try {
            switch (words[0]) {
                case "read":
                    return "ok " + read(driver, Paths.get(words[1]), Paths.get(words[2]));
                case "write":
                    return "ok " + write(driver, Paths.get(words[1]), Paths.get(words[2]));
                default:
                    return "ok " + driver.other(words);
            }
        } catch (Throwable failure) {
            return "error " + told(failure);
        }
    }

    private static int read(Driver driver, Path in, Path out) throws Exception {
        Rows rows = new Rows();
        driver.read(ByteBuffer.wrap(Files.readAllBytes(in)), rows);
        rows.save(out);
        return rows.count();
    }

    private static int write(Driver driver, Path spec, Path out) throws Exception {
        ByteBuffer entries = driver.write(Rows.Spec.load(spec));
        byte[] bytes = new byte[entries.remaining()];
        entries.get(bytes);
        Files.write(out, bytes);
        return bytes.length;
    }

    /** The failure and what caused it, on one line. */
    private static String told(Throwable failure) {
        StringBuilder text = new StringBuilder();
        for (Throwable cause = failure; cause != null && text.length() < 2000; cause = cause.getCause()) {
            text.append(text.length() == 0 ? "" : " <- ").append(cause.getClass().getSimpleName()).append(": ").append(cause.getMessage());
        }
        return text.toString().replaceAll("\\s+", " ");
    }
}
