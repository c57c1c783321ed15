/** Commands to copy: of git, and requests of the API with an access token. */
import { Link, usePageContext } from './components.tsx'
import { Joined } from './inline.tsx'

/**
 * An argument of a command, quoted for the shell unless it consists of characters that no shell interprets.
 */
export const quoted = (argument: string): string =>
  /^[\w@%+:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`

/** Lines for a shell. Narrow screens break long addresses after their slashes, and JSON after its commas. */
export const Command = ({ text }: { text: string }) => (
  <div class="copied">
    <pre class="command">
      <code data-copy="">
        {text.split(/(?<=\/)(?!\/)|(?<=",)/).map((part) => (
          <>
            {part}
            <wbr />
          </>
        ))}
      </code>
    </pre>
  </div>
)

interface RequestProps {
  /** The scopes that the token needs. */
  scopes: readonly string[]
  /** Path of the API, such as `/user/repos`. */
  path: string
  body: Readonly<Record<string, string>>
}

/** A request as a command of curl; its path, where the address of the API is not known. */
export const RequestCommand = ({ scopes, path, body }: RequestProps) => {
  const { urls } = usePageContext()
  if (urls === undefined)
    return (
      <p>
        Send <code>POST {path}</code> to the API.
      </p>
    )
  const headers = `${TOKEN_HEADER} -H 'Content-Type: application/json'`
  return (
    <TokenCommand
      scopes={scopes}
      text={`curl ${headers} \\\n  -d ${quoted(JSON.stringify(body))} \\\n  ${quoted(urls.api + path)}`}
    />
  )
}

/** The header with the token of {@link TokenCommand}, for curl. */
export const TOKEN_HEADER = '-H "Authorization: token $TOKEN"'

/** A command that sends the token in the variable TOKEN. */
export const TokenCommand = ({ scopes, text }: { scopes: readonly string[]; text: string }) => (
  <>
    <Command text={text} />
    <p class="small">
      TOKEN is an access token with {scopes.length === 1 ? 'the scope' : 'the scopes'}{' '}
      <Joined by=" and " parts={scopes.map((scope) => <code>{scope}</code>)} />.{' '}
      <Link to="/-/account">Create a token</Link>, and set it with{' '}
      <code class="unbroken">export TOKEN=…</code>.
    </p>
  </>
)
