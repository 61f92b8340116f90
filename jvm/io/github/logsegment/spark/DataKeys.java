package io.github.logsegment.spark;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.interfaces.RSAPrivateKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import javax.crypto.Cipher;

/**
 * Decrypts the data keys of tiered storage: RSA-OAEP with SHA3-512 for the hash and the mask (TS-30, TS-31). Java's own OAEP does not have
 * that hash in all versions, so only RSA is Java's. No error has a part of a key.
 */
final class DataKeys {
  private static final String HASH = "SHA3-512";
  private static final long FOUND = 0;
  private static final long NO_KEY = 1;
  private static final long WRONG = 2;

  private DataKeys() {}

  /** Return the answer of the library's question: the data key, or why there is none. */
  static byte[] answer(byte[] file, byte[] wrapped) {
    PrivateKey key = key(file);
    byte[] found = key == null ? null : unwrapped(key, wrapped);
    long state = key == null ? NO_KEY : found == null ? WRONG : FOUND;
    return new FieldsOut().flag(true).number(state).bytes(found == null ? new byte[0] : found).toBytes();
  }

  /** An RSA key of PKCS#8, as PEM or DER; null for anything else. */
  private static PrivateKey key(byte[] file) {
    try {
      String text = new String(file, StandardCharsets.ISO_8859_1);
      byte[] der = text.contains("-----BEGIN") ? Base64.getMimeDecoder().decode(text.replaceAll("(?s)^.*-----BEGIN [A-Z ]+-----|-----END.*$", "")) : file;
      PrivateKey key = KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(der));
      return key instanceof RSAPrivateKey ? key : null;
    } catch (GeneralSecurityException | IllegalArgumentException error) {
      return null;
    }
  }

  private static byte[] unwrapped(PrivateKey key, byte[] wrapped) {
    try {
      int length = (((RSAPrivateKey) key).getModulus().bitLength() + 7) / 8;
      if (wrapped.length != length) {
        return null;
      }
      Cipher rsa = Cipher.getInstance("RSA/ECB/NoPadding");
      rsa.init(Cipher.DECRYPT_MODE, key);
      return unpadded(rsa.doFinal(wrapped));
    } catch (GeneralSecurityException error) {
      return null;
    }
  }

  /** The message in an encoded block of RFC 8017, section 7.1.2, with an empty label; null for an invalid block. All errors look alike. */
  private static byte[] unpadded(byte[] block) throws GeneralSecurityException {
    MessageDigest digest = MessageDigest.getInstance(HASH);
    int hash = digest.getDigestLength();
    if (block.length < 2 * hash + 2 || block[0] != 0) {
      return null;
    }
    byte[] masked = Arrays.copyOfRange(block, 1 + hash, block.length);
    byte[] seed = xor(Arrays.copyOfRange(block, 1, 1 + hash), mask(masked, hash));
    byte[] data = xor(masked, mask(seed, masked.length));
    boolean isLabelRight = MessageDigest.isEqual(Arrays.copyOf(data, hash), digest.digest(new byte[0]));
    int at = hash;
    while (at < data.length && data[at] == 0) {
      at++;
    }
    return isLabelRight && at < data.length && data[at] == 1 ? Arrays.copyOfRange(data, at + 1, data.length) : null;
  }

  /** MGF1. */
  private static byte[] mask(byte[] seed, int length) throws GeneralSecurityException {
    MessageDigest digest = MessageDigest.getInstance(HASH);
    byte[] mask = new byte[length];
    for (int at = 0, counter = 0; at < length; at += digest.getDigestLength(), counter++) {
      digest.update(seed);
      byte[] part = digest.digest(new byte[] {(byte) (counter >>> 24), (byte) (counter >>> 16), (byte) (counter >>> 8), (byte) counter});
      System.arraycopy(part, 0, mask, at, Math.min(part.length, length - at));
    }
    return mask;
  }

  private static byte[] xor(byte[] one, byte[] other) {
    byte[] result = new byte[one.length];
    for (int index = 0; index < one.length; index++) {
      result[index] = (byte) (one[index] ^ other[index]);
    }
    return result;
  }
}
