// Goes through the API with the published Go SDK of Gitea. Arguments: the server's URL, an administrator's token, an SSH
// public key and an armored GPG key. Each step stands on the ones before it; the first that fails ends the program.
package main

import (
	"fmt"
	"os"

	"code.gitea.io/sdk/gitea"
)

func must[T any](value T, _ *gitea.Response, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func same[T comparable](what string, actual, expected T) {
	if actual != expected {
		check(fmt.Errorf("%s: %v, expected %v", what, actual, expected))
	}
}

func done(_ *gitea.Response, err error) { check(err) }

func main() {
	url, token, sshKey, gpgKey := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	admin, err := gitea.NewClient(url, gitea.SetToken(token))
	check(err)
	version := must(admin.ServerVersion())
	fmt.Println("version", version)

	no := false
	account := gitea.CreateUserOption{Username: "gopher", Email: "gopher@example.test", Password: "a long password", MustChangePassword: &no}
	same("the new user", must(admin.AdminCreateUser(account)).UserName, "gopher")
	basic, err := gitea.NewClient(url, gitea.SetBasicAuth("gopher", "a long password"))
	check(err)
	made := must(basic.CreateAccessToken(gitea.CreateAccessTokenOption{Name: "go", Scopes: []gitea.AccessTokenScope{gitea.AccessTokenScopeAll}}))
	same("tokens", len(must(basic.ListAccessTokens(gitea.ListAccessTokensOptions{}))), 1)

	client, err := gitea.NewClient(url, gitea.SetToken(made.Token))
	check(err)
	same("the signed-in user", must(client.GetMyUserInfo()).UserName, "gopher")
	must(client.CreateOrg(gitea.CreateOrgOption{Name: "burrow"}))
	repository := must(client.CreateOrgRepo("burrow", gitea.CreateRepoOption{Name: "demo", AutoInit: true, License: "MIT"}))
	same("the new repository", repository.FullName, "burrow/demo")
	same("found repositories", len(must(client.SearchRepos(gitea.SearchRepoOptions{Keyword: "DEM"}))), 1)
	same("own repositories", len(must(client.ListMyRepos(gitea.ListReposOptions{}))), 1)

	done(client.StarRepo("burrow", "demo"))
	same("starred", must(client.IsRepoStarring("burrow", "demo")), true)
	same("stars", must(client.GetMyStarredRepos())[0].Stars, 1)
	done(client.UnStarRepo("burrow", "demo"))
	same("starred", must(client.IsRepoStarring("burrow", "demo")), false)
	done(client.WatchRepo("burrow", "demo"))
	same("watched", must(client.CheckRepoWatch("burrow", "demo")), true)
	same("watched repositories", len(must(client.GetMyWatchedRepos())), 1)
	done(client.UnWatchRepo("burrow", "demo"))
	done(client.Follow("root"))
	follows, _ := client.IsFollowing("root")
	same("follows", follows, true)
	same("followers", len(must(client.ListFollowers("root", gitea.ListFollowersOptions{}))), 1)
	done(client.Unfollow("root"))

	key := must(client.CreatePublicKey(gitea.CreateKeyOption{Title: "laptop", Key: sshKey}))
	same("the key", must(client.GetPublicKey(key.ID)).Fingerprint, key.Fingerprint)
	done(client.DeletePublicKey(key.ID))
	gpg := must(client.CreateGPGKey(gitea.CreateGPGKeyOption{ArmoredKey: gpgKey}))
	same("verified", gpg.Emails[0].Verified, true)
	done(client.DeleteGPGKey(gpg.ID))

	same("markdown", must(client.RenderMarkdown(gitea.MarkdownOption{Text: "**hi**", Mode: "gfm"})), "<p dir=\"auto\"><strong>hi</strong></p>\n")
	done(client.DeleteRepo("burrow", "demo"))
	fmt.Println("done")
}
