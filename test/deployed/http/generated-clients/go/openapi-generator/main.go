// Uses the client that openapi-generator wrote.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"strings"

	openapi "example.test/clients/generated/openapi-generator"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func printError(err error) {
	var failure *openapi.GenericOpenAPIError
	if !errors.As(err, &failure) {
		panic(err)
	}
	body := failure.Model().(openapi.Error)
	fmt.Println(body.Status, body.Code)
}

func main() {
	configuration := openapi.NewConfiguration()
	configuration.Servers = openapi.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	pets := openapi.NewAPIClient(configuration).PetsAPI
	with := func(keyVariable string) context.Context {
		return context.WithValue(context.Background(), openapi.ContextAccessToken, os.Getenv(keyVariable))
	}
	ctx := with("API_KEY")

	created, _, err := pets.CreatePet(ctx).PetCreate(*openapi.NewPetCreate(" Monty", math.MaxInt64)).Execute()
	must(created, err)
	fmt.Printf("%s, %s, %d\n", created.Name, *created.Status, created.CategoryId)

	first, response, err := pets.ListPets(ctx).Limit(1).Status(openapi.AVAILABLE).Execute()
	must(first, err)
	link, _, _ := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
	cursor := must(url.Parse(link)).Query().Get("cursor")
	second, _, err := pets.ListPets(ctx).Limit(1).Status(openapi.AVAILABLE).Cursor(cursor).Execute()
	must(second, err)
	fmt.Println("older:", second[0].Id < first[0].Id)

	_, _, err = pets.CreatePet(ctx).PetCreate(*openapi.NewPetCreate("\uFFFD", 7)).Execute()
	printError(err)
	_, _, err = pets.GetPet(ctx, 1).Execute()
	printError(err)
	_, _, err = pets.ListPets(with("USED_UP_KEY")).Execute()
	printError(err)
}
