import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { addressOf } from '../lib/clients.ts'

const from = (remoteAddress: string | undefined, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage

describe('The client address of a request', () => {
  const CASES: [
    what: string,
    proxies: number,
    peer: string | undefined,
    forwarded: string | undefined,
    is: string,
  ][] = [
    ['the peer, whatever the header says', 0, '192.0.2.1', '203.0.113.9', '192.0.2.1'],
    ['an IPv4 address in the clothes of an IPv6 one', 0, '::ffff:192.0.2.1', undefined, '192.0.2.1'],
    ['the network of an IPv6 address', 0, '2001:db8:1:2:3:4:5:6', undefined, '2001:db8:1:2::/64'],
    ['the same network for another of its addresses', 0, '2001:db8:1:2::9', undefined, '2001:db8:1:2::/64'],
    ['a socket without an address', 0, undefined, undefined, 'local'],
    ['what the one proxy says', 1, '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['not what a client put in front of it', 1, '10.0.0.1', '1.2.3.4, 203.0.113.9', '203.0.113.9'],
    ['what the outer of two proxies says', 2, '10.0.0.1', '1.2.3.4, 203.0.113.9,10.0.0.2', '203.0.113.9'],
    ['the farthest there is, of a chain that is too short', 2, '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['an address with a port', 1, '10.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['an IPv6 address in brackets', 1, '10.0.0.1', '[2001:db8::1]:4711', '2001:db8:0:0::/64'],
    ['the peer, where the proxy says nothing', 1, '10.0.0.1', undefined, '10.0.0.1'],
    ['the peer, where the proxy does not know', 1, '10.0.0.1', 'unknown', '10.0.0.1'],
  ]
  for (const [what, proxies, peer, forwarded, is] of CASES)
    it(`is ${what}`, () => {
      assert.equal(addressOf(from(peer, forwarded), proxies), is)
    })
})
