import asyncHooks from 'node:async_hooks'

/*
 * Node's test runner follows every promise to the test that has created it: with it, specs take up to twice the
 * processor time. It needs that only while files are loaded, to know which suite a test belongs to, and for the name
 * of the test in which an error is thrown that nothing catches. This module must be loaded before `node:test`.
 */

const { createHook } = asyncHooks
/** @type {asyncHooks.AsyncHook | undefined} */
let tracking

asyncHooks.createHook = (callbacks) => {
  const hook = createHook(callbacks)
  tracking ??= hook
  return hook
}

/** Ends the tracking, once all files are loaded. */
export const endTracking = () => {
  tracking?.disable()
  asyncHooks.createHook = createHook
}
