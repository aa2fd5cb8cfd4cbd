import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Bean Validation matches the whole value. */
class Engine {
  public static void main(String[] arguments) throws Exception {
    var lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    for (String line; (line = lines.readLine()) != null;) {
      String[] parts = line.split(" ", -1);
      Matcher matcher = Pattern.compile(decoded(parts[0])).matcher(decoded(parts[1]));
      System.out.println(digit(matcher.find()) + digit(matcher.reset().lookingAt()) + digit(matcher.matches()));
    }
  }

  private static String decoded(String base64) {
    return new String(Base64.getDecoder().decode(base64), UTF_8);
  }

  private static String digit(boolean isMatch) {
    return isMatch ? "1" : "0";
  }
}
