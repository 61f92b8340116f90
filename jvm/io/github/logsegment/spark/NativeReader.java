package io.github.logsegment.spark;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/** The functions of the library, which is in the jar; src/jvm/jni.rs has them. */
final class NativeReader {
  static final long END = -1;
  static final long FAILED = -2;
  /** Longs before those of the columns. */
  static final int HEAD = 7;

  private static final String FOLDER = "/io/github/logsegment/spark/native/";
  /** Of the jar. */
  static final String VERSION = version("/io/github/logsegment/spark/version.txt");
  /** Why the library cannot be used on this machine; null if it can. */
  private static final String PROBLEM = load();
  /** Of the library; null without one. */
  private static final String LIBRARY_VERSION = PROBLEM == null ? text(version()) : null;

  private NativeReader() {}

  /** Return why the library cannot be used on this machine, or null. A library of another version is an error: the jar was not built whole. */
  static String problem() {
    if (LIBRARY_VERSION != null && !VERSION.equals(LIBRARY_VERSION)) {
      throw new IllegalStateException(
          "the jar of logsegment is of version " + VERSION + ", the library in it of version " + LIBRARY_VERSION
              + "; set spark.jars to logsegment.spark.jar() of the package");
    }
    return PROBLEM;
  }

  static native long version();

  static native long open(long data, long length);

  static native long next(long handle, long numbers, long length);

  static native void close(long handle);

  /** Load a copy: a JVM loads a file for one class loader only, and each Spark Connect session has one. */
  private static String load() {
    String os = System.getProperty("os.name").toLowerCase(Locale.ROOT).split(" ")[0];
    String processor = System.getProperty("os.arch").replace("x86_64", "amd64");
    String resource = FOLDER + os + "-" + processor + "/" + System.mapLibraryName("logsegment");
    try (InputStream library = NativeReader.class.getResourceAsStream(resource)) {
      if (library == null) {
        return "the jar of logsegment has no library for this system (" + resource + ")";
      }
      Path copy = Files.createTempFile("logsegment-", "-" + System.mapLibraryName("jvm"));
      try {
        Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
        System.load(copy.toString());
      } finally {
        remove(copy);
      }
    } catch (IOException | UnsatisfiedLinkError error) {
      return "the library of logsegment cannot be loaded (" + error.getMessage() + "); is java.io.tmpdir mounted noexec?";
    }
    return null;
  }

  /** Unix keeps the bytes of a file that is in use; Windows removes the file at the end. */
  private static void remove(Path copy) throws IOException {
    try {
      Files.delete(copy);
    } catch (IOException inUse) {
      copy.toFile().deleteOnExit();
    }
  }

  private static String text(long version) {
    return (version >> 40) + "." + (version >> 20 & 0xfffff) + "." + (version & 0xfffff);
  }

  private static String version(String resource) {
    try (InputStream text = NativeReader.class.getResourceAsStream(resource)) {
      return new String(text.readAllBytes(), StandardCharsets.UTF_8).strip();
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }
}
