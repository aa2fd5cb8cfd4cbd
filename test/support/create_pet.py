"""Creates an animal without a status, with a client that openapi-python-client generated."""

import os
from http import HTTPStatus

from animal_store.api.pets import create_pet
from animal_store.client import AuthenticatedClient
from animal_store.models import NewPet

client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"])
answer = create_pet.sync_detailed(client=client, body=NewPet(name="Monty", category_id=2**63 - 1))
assert answer.status_code == HTTPStatus.CREATED, answer
assert answer.parsed.category_id == 2**63 - 1, answer.parsed
print(answer.parsed.name, answer.parsed.status.value)
