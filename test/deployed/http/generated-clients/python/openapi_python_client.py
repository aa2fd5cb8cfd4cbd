"""Uses the client that openapi-python-client wrote."""

import os
from urllib.parse import parse_qs, urlsplit

from openapi_python_client_client.api.pets import create_pet, get_pet, list_pets
from openapi_python_client_client.client import AuthenticatedClient
from openapi_python_client_client.models import NewPet, PetStatus


def client_of(key_variable):
    return AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ[key_variable])


def print_error(response):
    print(response.status_code.value, response.parsed.code)


client = client_of("API_KEY")
created = create_pet.sync(client=client, body=NewPet(name=" Monty", category_id=2**63 - 1))
print(f"{created.name}, {created.status.value}, {created.category_id}")

first = list_pets.sync_detailed(client=client, limit=1, status=PetStatus.AVAILABLE)
link = first.headers["Link"].removeprefix("<").split(">")[0]
[cursor] = parse_qs(urlsplit(link).query)["cursor"]
[second] = list_pets.sync(client=client, limit=1, status=PetStatus.AVAILABLE, cursor=cursor)
print("older:", str(second.id < first.parsed[0].id).lower())

print_error(create_pet.sync_detailed(client=client, body=NewPet(name="\ufffd", category_id=7)))
print_error(get_pet.sync_detailed(1, client=client))
print_error(list_pets.sync_detailed(client=client_of("USED_UP_KEY")))
