import { AllotError } from '../errors.ts'
import { StorageError } from '../storage/index.ts'

type Method = (...args: unknown[]) => unknown

/**
 * Adds the lines that called a service to the stack of the errors that it throws. A stack that begins within
 * a transaction does not have them, since other calls may have begun the transaction.
 */
export const withCallers = <T extends object>(service: T): T => {
  const methods = new Map<PropertyKey, Method>()
  return new Proxy(service, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const method = methods.get(name) ?? namingCaller(target, value as Method)
      methods.set(name, method)
      return method
    },
  })
}

const namingCaller = (target: object, method: Method): Method =>
  function call(...args) {
    const caller: { stack?: string } = {}
    Error.captureStackTrace(caller, call)
    const result = method.apply(target, args)
    return result instanceof Promise
      ? result.catch((error) => Promise.reject(extended(error, caller)))
      : result
  }

/** An error of the storage is shared by all calls that it concerns, and none of them is the reason. */
const extended = (error: unknown, { stack = '' }: { stack?: string }): unknown => {
  if (error instanceof AllotError && !(error instanceof StorageError))
    error.stack = `${error.stack}${stack.slice(stack.indexOf('\n'))}`
  return error
}

/** The services of a host, by name. */
export const namingCallers = <T extends Record<string, object>>(services: T): T =>
  Object.fromEntries(Object.entries(services).map(([name, service]) => [name, withCallers(service)])) as T
