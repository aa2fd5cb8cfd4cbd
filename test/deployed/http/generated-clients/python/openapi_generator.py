"""Uses the client that openapi-generator wrote."""

import os
from urllib.parse import parse_qs, urlsplit

from openapi_generator_client import ApiClient, ApiException, Configuration, NewPet, PetsApi, PetStatus


def pets_of(key_variable):
    # Without retries=0 it would wait for Retry-After, which is at midnight when the day is used up.
    key = os.environ[key_variable]
    return PetsApi(ApiClient(Configuration(host=os.environ["BASE_URL"], access_token=key, retries=0)))


def print_error(call):
    try:
        call()
    except ApiException as error:
        print(error.status, error.data.code)
    else:
        raise AssertionError("no error")


pets = pets_of("API_KEY")
created = pets.create_pet(NewPet(name=" Monty", category_id=2**63 - 1))
print(f"{created.name}, {created.status.value}, {created.category_id}")

first = pets.list_pets_with_http_info(limit=1, status=PetStatus.AVAILABLE)
link = first.headers["Link"].removeprefix("<").split(">")[0]
[cursor] = parse_qs(urlsplit(link).query)["cursor"]
[second] = pets.list_pets(limit=1, status=PetStatus.AVAILABLE, cursor=cursor)
print("older:", str(second.id < first.data[0].id).lower())

print_error(lambda: pets.create_pet(NewPet(name="\ufffd", category_id=7)))
print_error(lambda: pets.get_pet(1))
print_error(lambda: pets_of("USED_UP_KEY").list_pets())
