import { AllotError } from './errors.ts'

/**
 * Imports modules that need an optional peer dependency.
 * @param name of the package
 * @param feature that needs it, in the plural: the subject of the error message
 * @throws AllotError unavailable, with what to install, when the package is not installed
 */
export const importWith = async <T>(
  name: string,
  feature: string,
  importModules: () => Promise<T>,
): Promise<T> => {
  try {
    return await importModules()
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes(`'${name}'`)) throw cause
    const advice = `${feature} need the package ${name}, which is not installed: npm install ${name}`
    throw new AllotError('unavailable', advice, { cause })
  }
}
