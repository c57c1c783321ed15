import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { aCheckout, git } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { listen } from '../support/listen.ts'
import { createSender } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { createPageClient } from '../web/browser.ts'
import { diagnose } from './diagnose.ts'
import { served } from './in-process.ts'

/** A proxy that serves a server below `/code/git`, as nginx does with `proxy_pass`. */
const proxied = async (pathOf: (url: string) => string | undefined) => {
  let port = ''
  const proxy = await listen((req, res) => {
    const path = pathOf(req.url!)
    if (path === undefined) return void res.writeHead(404).end('of another service')
    const { method, headers } = req
    const onward = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.rawHeaders)
      answer.pipe(res)
    })
    req.pipe(onward)
  })
  const base = `${proxy.origin}/code/git`
  const config = join(temporaryDirectory(), 'allot.toml')
  writeFileSync(config, `[api]\nbase_url = "${base}"\n`)
  const server = await served(['--data', temporaryDirectory(), '--config', config])
  port = new URL(server.api).port
  const secret = /^ {2}([0-9a-f]{40})$/m
  await waitFor(() => secret.test(server.printed()))
  const [, token = ''] = secret.exec(server.printed())!
  return { base, server, token, ask: createSender(`${base}/api/v1`) }
}

const below = (url: string) => (url.startsWith('/code/git') ? url : undefined)

describe('allot serve below a path', () => {
  for (const [what, pathOf] of [
    ['passes the path on', below],
    ['removes the path', (url: string) => below(url)?.slice('/code/git'.length)],
  ] as const)
    describe(`behind a proxy that ${what}`, () => {
      let site: Awaited<ReturnType<typeof proxied>>
      before(async () => {
        site = await proxied(pathOf)
        const body = { name: 'first', auto_init: true }
        assert.equal((await site.ask('POST', '/user/repos', { token: site.token, body })).status, 201)
      })

      it('prints addresses at its first start that work', async () => {
        const { base, server, token } = site
        const [page, api] = [...server.printed().matchAll(/https?:\S+/g)].map(([url]) => url).reverse()
        assert.equal((await fetch(api!, { headers: { authorization: `token ${token}` } })).status, 200)
        const pages = page!.replace(/\/$/, '')
        assert.equal(pages, base)
        // A browser says where its form is from.
        const browser = createPageClient(pages)
        await browser.get('/-/sign-in')
        const from = { origin: new URL(pages).origin }
        assert.equal((await browser.post('/-/sign-in', { name: '', secret: token }, from)).status, 303)
      })

      it('has links that lead to what they name', async () => {
        const { base, ask, token } = site
        const { body, headers } = await ask('GET', '/repos/root/first', { token })
        assert.equal(body.html_url, `${base}/root/first`)
        assert.equal(body.clone_url, `${base}/root/first.git`)
        for (const url of [body.html_url, body.url, body.owner.avatar_url, `${base}/api/swagger`])
          assert.equal((await fetch(url)).status, 200, url)
        assert.equal(headers.get('location'), null)
      })

      it('clones and pushes, and names the address of LFS objects', async () => {
        const { base, token } = site
        const folder = await aCheckout()
        const url = Object.assign(new URL(`${base}/root/first.git`), { username: 'root', password: token })
        await git(folder, 'push', url.href, 'HEAD:pushed')
        assert.match(await git(folder, 'ls-remote', url.href), /refs\/heads\/pushed/)
        const answer = await fetch(`${base}/root/first.git/info/lfs/objects/batch`, {
          method: 'POST',
          headers: { authorization: `token ${token}`, 'content-type': 'application/vnd.git-lfs+json' },
          body: JSON.stringify({ operation: 'upload', objects: [{ oid: 'a'.repeat(64), size: 3 }] }),
        })
        const { objects } = (await answer.json()) as { objects: { actions: { upload: { href: string } } }[] }
        assert.ok(objects[0]!.actions.upload.href.startsWith(`${base}/root/first.git/info/lfs/`))
      })

      it('redirects from former names', async () => {
        const { base, ask, token } = site
        await ask('PATCH', '/repos/root/first', { token, body: { name: 'second' } })
        await ask('PATCH', '/repos/root/second', { token, body: { name: 'first' } })
        for (const path of ['/api/v1/repos/root/second', '/root/second']) {
          const { status, headers } = await fetch(base + path, { redirect: 'manual' })
          assert.deepEqual([status, headers.get('location')], [301, base + path.replace('second', 'first')])
        }
      })

      it('has pages whose links, forms, redirects and cookie stay below it', async () => {
        const { base, token } = site
        const browser = createPageClient(base)
        const away = await browser.get('')
        assert.deepEqual([away.status, away.headers.get('location')], [303, '/code/git/-/sign-in'])
        const [cookie] = (await browser.get('/-/sign-in')).headers.getSetCookie()
        assert.match(cookie!, /; Path=\/code\/git;/)
        const signedIn = await browser.post('/-/sign-in', { name: '', secret: token })
        assert.deepEqual([signedIn.status, signedIn.headers.get('location')], [303, '/code/git/'])
        for (const path of ['/', '/root/first', '/-/admin', '/nobody']) {
          const { text } = await browser.get(path)
          const targets = [...text.matchAll(/ (?:href|src|action)="(\/[^"]*)"/g)].map(([, target]) => target!)
          assert.ok(targets.length > 3, path)
          assert.deepEqual(
            targets.filter((target) => !target.startsWith('/code/git/')),
            [],
            path,
          )
        }
      })

      it('answers its health checks there, and at the address of the server', async () => {
        const { base, server } = site
        const origin = new URL(server.api).origin
        for (const url of [`${base}/-/readyz`, `${origin}/-/readyz`, `${server.api}/version`])
          assert.equal((await fetch(url)).status, 200, url)
        for (const url of [base, `${base}/`, `${base}/api/v1`])
          assert.equal((await diagnose('', '--url', url)).of('server')[0]?.message, `${base} answers`)
      })
    })
})
