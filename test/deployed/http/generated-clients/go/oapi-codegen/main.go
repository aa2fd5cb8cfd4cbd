// Uses the client that oapi-codegen wrote.
package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"

	animals "example.test/clients/generated/oapi-codegen"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func client(keyVariable string) *animals.ClientWithResponses {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv(keyVariable))
		return nil
	}
	return must(animals.NewClientWithResponses(os.Getenv("BASE_URL"), animals.WithRequestEditorFn(authorize)))
}

func main() {
	ctx := context.Background()
	pets := client("API_KEY")
	limit, available := int32(1), animals.Available

	monty := animals.NewPet{Name: " Monty", CategoryId: math.MaxInt64}
	created := must(pets.CreatePetWithResponse(ctx, nil, monty)).JSON201
	fmt.Printf("%s, %s, %d\n", created.Name, *created.Status, created.CategoryId)

	first := must(pets.ListPetsWithResponse(ctx, &animals.ListPetsParams{Limit: &limit, Status: &available}))
	link, _, _ := strings.Cut(strings.TrimPrefix(*first.Headers200.Link, "<"), ">")
	cursor := must(url.Parse(link)).Query().Get("cursor")
	params := animals.ListPetsParams{Limit: &limit, Status: &available, Cursor: &cursor}
	second := must(pets.ListPetsWithResponse(ctx, &params))
	fmt.Println("older:", (*second.JSON200)[0].Id < (*first.JSON200)[0].Id)

	invalid := must(pets.CreatePetWithResponse(ctx, nil, animals.NewPet{Name: "\uFFFD", CategoryId: 7}))
	fmt.Println(invalid.StatusCode(), invalid.JSON400.Code)
	missing := must(pets.GetPetWithResponse(ctx, 1))
	fmt.Println(missing.StatusCode(), missing.JSON404.Code)
	rejected := must(client("USED_UP_KEY").ListPetsWithResponse(ctx, nil))
	fmt.Println(rejected.StatusCode(), rejected.JSON429.Code)
}
