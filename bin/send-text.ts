import type { IncomingMessage, ServerResponse } from 'node:http'

/** Sends plain text to GET and HEAD, and 405 to other methods. */
export const sendText = (
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void => {
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  const body = isRead ? text : ''
  res.writeHead(isRead ? status : 405, {
    'Content-Type': 'text/plain;charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(isRead ? headers : { Allow: 'GET, HEAD' }),
  })
  res.end(body)
}
