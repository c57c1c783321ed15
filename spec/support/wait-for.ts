import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until it is so; after ten seconds it will not be, and whoever asked goes on to say what is missing. */
export const waitFor = async (isSo: () => boolean): Promise<void> => {
  for (let time = 0; time < 400 && !isSo(); time++) await sleep(25)
}
