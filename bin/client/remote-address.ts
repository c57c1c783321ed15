import { UsageError } from '../errors.ts'

/**
 * Address of a server from an option of the command line.
 * @param option such as `--url`
 * @throws UsageError when the text isn't an HTTP address; the message hides credentials
 */
export const parseAddress = (option: string, text: string, example: string): URL => {
  if (/^https?:\/\/[^/]/.test(text) && URL.canParse(text)) return new URL(text)
  throw new UsageError(`${option} ${text.replace(/[^/@]*@/, '…@')}: expected an address such as ${example}`)
}

/**
 * Access token from `--token` or from the environment.
 * @param server which server needs it, for the message
 * @throws UsageError when there is none, or it has characters that a header cannot carry
 */
export const readToken = (option: string | undefined, variable: string, server: string): string => {
  const token = (option ?? process.env[variable])?.trim()
  if (!token)
    throw new UsageError(
      `${server} needs an access token: give --token, or set ${variable} in the environment`,
    )
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError('the token contains characters that no token has')
  return token
}

/** Why `fetch` failed. When every address of a name fails, the reasons are in an AggregateError without a message. */
export const fetchErrorReason = ({ cause, message }: Error): string => {
  if (!(cause instanceof Error)) return message
  return cause instanceof AggregateError ? (cause.errors[0] as Error).message : cause.message
}
