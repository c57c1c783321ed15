/** One HTTP request to a receiver. */
import { createHmac } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import type { Delivery, Hook } from '../records/schema/index.ts'
import { VERSION } from '../version.ts'
import type { AllowedAddresses } from './addresses.ts'

/** Bytes of the answer of a receiver that are kept. */
const MAX_ANSWER = 4096

/** The answer of a receiver, or the reason why there is none. */
export interface Outcome {
  readonly isDelivered: boolean
  readonly status: number | null
  /** Beginning of the answer. */
  readonly answer: string
  /** Sentence for the owner of the webhook; empty for a success. */
  readonly error: string
  /** Milliseconds. */
  readonly duration: number
}

/** A delivery with the text of its payload. */
type Sent = Pick<Delivery, 'event' | 'uuid'> & { readonly payload: string }

interface PostOptions {
  readonly addresses: AllowedAddresses
  readonly timeoutMs: number
  /** Ends the request when the server closes. */
  readonly signal: AbortSignal
}

/**
 * Sends a delivery. Redirects are not followed, since they could lead to an address that is not permitted.
 */
export const post = async (hook: Hook, delivery: Sent, options: PostOptions): Promise<Outcome> => {
  const begun = performance.now()
  const timeout = AbortSignal.timeout(options.timeoutMs)
  const signal = AbortSignal.any([options.signal, timeout])
  const duration = () => Math.round(performance.now() - begun)
  try {
    const { status, answer } = await exchange(hook, delivery, options.addresses, signal)
    const isDelivered = status >= 200 && status < 300
    return { isDelivered, status, answer, error: isDelivered ? '' : errorOf(status), duration: duration() }
  } catch (error) {
    const message = timeout.aborted
      ? `the receiver has not answered within ${options.timeoutMs} ms`
      : reasonOf(error as NetError, hook)
    const failure = { isDelivered: false, status: null, answer: '', error: message.slice(0, MAX_ERROR) }
    return { ...failure, duration: duration() }
  }
}

const MAX_ERROR = 255

/**
 * Why no answer came. The messages of node:net name the address of the receiver, which its owner may not
 * learn.
 */
const reasonOf = ({ code, message, syscall, errors }: NetError, { url }: Hook): string =>
  syscall === 'connect' || errors !== undefined ? `cannot connect to ${new URL(url).host}: ${code}` : message

/** `errors`: one for each address, of a name that has several. */
type NetError = NodeJS.ErrnoException & { readonly errors?: readonly Error[] }

const errorOf = (status: number): string =>
  status >= 300 && status < 400
    ? `the receiver answered ${status}, and redirects are not followed: set its final URL`
    : `the receiver answered ${status}`

const exchange = async (
  hook: Hook,
  delivery: Sent,
  addresses: AllowedAddresses,
  signal: AbortSignal,
): Promise<{ status: number; answer: string }> => {
  const url = new URL(hook.url)
  addresses.checkHost(url.hostname)
  const { payload } = delivery
  const body = bodyOf(hook, payload)
  const { request } = url.protocol === 'https:' ? https : http
  const options = {
    method: 'POST',
    signal,
    lookup: addresses.lookup,
    agent: false,
    headers: { ...headersOf(hook, delivery, { payload, body }), 'Content-Length': body.length },
  }
  const res = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const req = request(url, options, resolve)
    req.on('error', reject)
    // Without a listener Node destroys the socket, and reports neither a response nor an error, also not when
    // the signal aborts.
    req.on('upgrade', (switching) => resolve(switching.destroy()))
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    req.end(body)
  })
  return { status: res.statusCode ?? 0, answer: await beginningOf(res) }
}

/**
 * Reads no more than is kept, so that a receiver cannot send an answer without end. Never rejects: the status
 * decides, also when the answer breaks off or lasts longer than the timeout.
 */
const beginningOf = async (res: http.IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of res) {
      chunks.push(chunk as Buffer)
      size += (chunk as Buffer).length
      if (size >= MAX_ANSWER) break
    }
  } catch {
    // What has come is the answer.
  }
  // As a stream: a character of which the limit cuts bytes is left out.
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_ANSWER), { stream: true })
}

const bodyOf = ({ contentType }: Hook, payload: string): Buffer =>
  Buffer.from(contentType === 'json' ? payload : new URLSearchParams({ payload }).toString())

/** Beginnings of the names of headers in which receivers look for the signature. */
const SIGNED_PREFIXES = ['X-Gitea', 'X-Forgejo', 'X-Gogs']
/** Beginnings of those in which they look for the event and the id. */
const HEADER_PREFIXES = [...SIGNED_PREFIXES, 'X-GitHub']

/**
 * Two signatures, which differ for a form: the headers of Gitea sign the JSON, `X-Hub-Signature-256` signs
 * the bytes of the body.
 */
const headersOf = (
  hook: Hook,
  delivery: Sent,
  { payload, body }: { payload: string; body: Buffer },
): Record<string, string> => {
  const { secret, authorization, contentType } = hook
  const headers: Record<string, string> = {
    'Content-Type': contentType === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
    'User-Agent': `Allot/${VERSION}`,
    ...(authorization === '' ? {} : { Authorization: authorization }),
  }
  for (const prefix of HEADER_PREFIXES) {
    headers[`${prefix}-Event`] = delivery.event
    headers[`${prefix}-Event-Type`] = delivery.event
    headers[`${prefix}-Delivery`] = delivery.uuid
  }
  if (secret === '') return headers
  const sign = (signed: string | Buffer) => createHmac('sha256', secret).update(signed).digest('hex')
  const ofPayload = sign(payload)
  for (const prefix of SIGNED_PREFIXES) headers[`${prefix}-Signature`] = ofPayload
  headers['X-Hub-Signature-256'] = `sha256=${sign(body)}`
  return headers
}
