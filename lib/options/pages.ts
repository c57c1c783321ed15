import * as v from 'valibot'
import { DAY_MS, HOUR_MS } from '../clock.ts'
import type { HtmlPage } from '../host-pages/html-pages.ts'
import { isUrl, templateOf } from '../host-pages/html-urls.ts'
import { PLAIN_PATH } from '../http/mount.ts'
import { milliseconds } from './checks.ts'

/**
 * The options of the web pages, with the brand of the host. Invariant: no value can bring in markup or
 * directives of the Content-Security-Policy.
 */

const isPath = (text: string): boolean => /^\/(?!\/)/.test(text)

/** A path of the origin of the pages, or a URL with one of the schemes. */
const address = (schemes: readonly string[], message: string) =>
  v.pipe(
    v.string(),
    v.maxLength(2000, 'expected at most 2000 characters'),
    v.check((text) => !/[\s\p{Cc}\\]/u.test(text) && (isPath(text) || isUrl(text, schemes)), message),
  )

const Name = v.pipe(
  v.string(),
  v.maxLength(100, 'expected at most 100 characters'),
  v.regex(/^(?=.*\S)[^\p{Cc}\u2028\u2029]*$/u, 'expected text of one line'),
)

const TO = '{to}'

/** @param example value of the option that would be right */
const ownPage = (example: string) =>
  v.pipe(
    address(
      ['https:', 'http:'],
      `expected a path such as ${example}, or a URL that begins with https:// or http:// and a host`,
    ),
    v.check(
      (text) => text.includes(TO) && !/[{}]/.test(text.replaceAll(TO, '')),
      `expected ${TO}, and no other placeholder, in place of the page to come back to, such as ${example}`,
    ),
  )

/**
 * The address of a page of the host, with the page to come back to.
 * @param template value of `loginUrl` or `logoutUrl`
 * @param path path of that page, with its mount point
 */
export const withWayBack = (template: string, origin: string, path: string): string =>
  template.replaceAll(TO, encodeURIComponent(isPath(template) ? path : origin + path))

/** The sections about the pages of Allot and of the host. */
export const PageSections = v.strictObject({
  /** The web pages. */
  pages: v.optional(
    v.strictObject({
      /** Milliseconds after which a user of the pages must sign in again. Default: `43200000`. */
      sessionLifetime: milliseconds(90 * DAY_MS, 12 * HOUR_MS),
      /**
       * Whether the pages link owners, repositories, attachments, packages and artifacts to their `html_url`:
       * for hosts that show them there. Allot shows none of them itself then. Default: `false`.
       */
      links: v.optional(v.boolean(), false),
      /** Name of the service, in the header and in the title of each page. Default: `"Allot"`. */
      name: v.optional(Name, 'Allot'),
      /**
       * Image in place of the name in the header, and icon of the pages: a path of their origin, or a URL
       * that begins with `https://`.
       */
      logo: v.optional(
        address(
          ['https:'],
          'expected a path such as /logo.svg, or a URL that begins with https:// and a host',
        ),
      ),
      /** Path or URL of the link in the header that leads back to your site; no link when absent. */
      backUrl: v.optional(
        address(
          ['https:', 'http:'],
          'expected a path such as /home, or a URL that begins with https:// or http:// and a host',
        ),
      ),
      /** Text of that link. Default: `"Back"`. */
      backText: v.optional(Name, 'Back'),
      /**
       * Path or URL of your page to sign in, with `authenticate`, such as `/login?next={to}`. Pages that need
       * a user lead there, with the page to come back to in place of `{to}`, which the value must have: its
       * path, or its URL when the value is a URL.
       */
      loginUrl: v.optional(ownPage(`/login?next=${TO}`)),
      /** The same for the link to sign out, such as `/logout?next={to}`. */
      logoutUrl: v.optional(ownPage(`/logout?next=${TO}`)),
      /**
       * CSS that follows the style sheet of the pages in the same file, such as values of the variables that
       * `docs/configuration.md` lists. Default: `""`.
       */
      css: v.optional(v.pipe(v.string(), v.maxLength(65_536, 'expected at most 65536 characters')), ''),
    }),
    {},
  ),
  /** Templates of `html_url`, for hosts with pages of their own. */
  htmlUrls: v.optional(
    v.strictObject({
      /**
       * Path below `baseUrl` at which the host mounts Allot's pages, such as `/storage`: `html_url` leads
       * there for each kind of page that Allot serves. That of `allot.listener` when absent.
       */
      pages: v.optional(
        v.pipe(
          v.string(),
          v.check(
            (path) => path === '' || PLAIN_PATH.test(path),
            'expected a path such as /storage, without a slash at the end',
          ),
        ),
      ),
      /**
       * URL of the page of a user; placeholders: `{username}`. Allot's own, `/{username}` below
       * `htmlUrls.pages`, when absent.
       */
      user: v.optional(templateOf('user')),
      /**
       * URL of the page of an organization; placeholders: `{org}`. Allot's own, `/{org}` below
       * `htmlUrls.pages`, when absent.
       */
      organization: v.optional(templateOf('organization')),
      /**
       * URL of the page of a repository; placeholders: `{owner}`, `{repo}`. Allot's own, `/{owner}/{repo}`
       * below `htmlUrls.pages`, when absent.
       */
      repository: v.optional(templateOf('repository')),
      /**
       * URL of the page of an issue; placeholders: `{owner}`, `{repo}`, `{index}`. Allot's own,
       * `/{owner}/{repo}/issues/{index}` below `htmlUrls.pages`, when absent.
       */
      issue: v.optional(templateOf('issue')),
      /**
       * URL of the page of a comment; placeholders: `{owner}`, `{repo}`, `{index}`, `{id}`. That of the issue
       * with `#issuecomment-{id}` when absent.
       */
      comment: v.optional(templateOf('comment')),
      /**
       * URL of the page of a release; placeholders: `{owner}`, `{repo}`, `{tag}`. Allot's own,
       * `/{owner}/{repo}/releases/tag/{tag}` below `htmlUrls.pages`, when absent.
       */
      release: v.optional(templateOf('release')),
      /**
       * URL of the page of a release that is known only from an attachment in the ledger; placeholders:
       * `{owner}`, `{repo}`, `{index}`. Default: `"/{owner}/{repo}/releases/{index}"`.
       */
      ledgerRelease: v.optional(templateOf('ledgerRelease'), '/{owner}/{repo}/releases/{index}'),
      /**
       * URL of the page of a version of a package; placeholders: `{owner}`, `{type}`, `{name}`, `{version}`.
       * Allot's own, `/{owner}/-/packages/{type}/{name}/{version}` below `htmlUrls.pages`, when absent.
       */
      package: v.optional(templateOf('package')),
      /**
       * URL of the page of an artifact; placeholders: `{owner}`, `{repo}`, `{run}`, `{name}`, `{key}`.
       * Default: `"/{owner}/{repo}/actions/runs/{run}"`.
       */
      artifact: v.optional(templateOf('artifact'), '/{owner}/{repo}/actions/runs/{run}'),
    } satisfies Record<HtmlPage['kind'] | 'pages', v.GenericSchema>),
    {},
  ),
})

export type Brand = v.InferOutput<typeof PageSections>['pages']

/** Origin of the logo, when it is a URL; undefined when the logo has the origin of the pages. */
export const logoOrigin = ({ logo }: Pick<Brand, 'logo'>): string | undefined =>
  logo === undefined || isPath(logo) ? undefined : new URL(logo).origin
