import jakarta.validation.Validation;
import java.net.URI;
import java.util.Set;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.PetsApi;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.NewPet;
import org.openapitools.client.model.PetStatus;

/** Uses the client that openapi-generator wrote, with Bean Validation. */
class OpenApiGenerator {
  interface Call {
    void run() throws ApiException;
  }

  static ApiClient client(String keyVariable) {
    var client = new ApiClient();
    client.updateBaseUri(System.getenv("BASE_URL"));
    client.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + System.getenv(keyVariable)));
    return client;
  }

  static void printError(Call call) throws Exception {
    try {
      call.run();
      throw new AssertionError("no error");
    } catch (ApiException failure) {
      var body = ApiClient.createDefaultObjectMapper().readValue(failure.getResponseBody(), Error.class);
      System.out.println(failure.getCode() + " " + body.getCode());
    }
  }

  public static void main(String[] args) throws Exception {
    var pets = new PetsApi(client("API_KEY"));
    var monty = new NewPet().name(" Monty").categoryId(Long.MAX_VALUE);
    try (var factory = Validation.buildDefaultValidatorFactory()) {
      var validator = factory.getValidator();
      if (!validator.validate(monty).equals(Set.of())) throw new AssertionError(validator.validate(monty));
      if (validator.validate(new NewPet().name(" ").categoryId(7L)).isEmpty()) throw new AssertionError();
    }
    var created = pets.createPet(monty, "java-1");
    System.out.println(created.getName() + ", " + created.getStatus() + ", " + created.getCategoryId());

    var first = pets.listPetsWithHttpInfo(1, PetStatus.AVAILABLE, null);
    var link = first.getHeaders().get("link").get(0);
    var query = URI.create(link.substring(1, link.indexOf('>'))).getQuery();
    var cursor = query.replaceFirst(".*\\bcursor=([^&]+).*", "$1");
    var second = pets.listPets(1, PetStatus.AVAILABLE, cursor);
    System.out.println("older: " + (second.get(0).getId() < first.getData().get(0).getId()));

    printError(() -> pets.createPet(new NewPet().name("\uFFFD").categoryId(7L), null));
    printError(() -> pets.getPet(1L));
    printError(() -> new PetsApi(client("USED_UP_KEY")).listPets(null, null, null));
  }
}
