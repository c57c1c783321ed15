// Reads a quota with the client that oapi-codegen has made, and prints it. Arguments: the URL of the API, and a token.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"allot.test/generated/api"
)

func main() {
	url, token := os.Args[1], os.Args[2]
	sign := func(_ context.Context, req *http.Request) error {
		req.Header.Set("Authorization", "token "+token)
		return nil
	}
	client, err := api.NewClientWithResponses(url, api.WithRequestEditorFn(sign))
	check(err)
	quota, err := client.UserGetQuotaWithResponse(context.Background())
	check(err)
	explained, err := client.UserExplainQuotaWithResponse(context.Background(), nil)
	check(err)
	explanation := explained.JSON200
	fmt.Println(quota.JSON200.Used.Size.Assets.Artifacts, *explanation.Limit, *explanation.Left)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
