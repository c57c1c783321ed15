import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { printed, spawnChild } from '../support/child.ts'
import { createSender, type Send } from '../support/request.ts'

/** One of several server processes over one database. */
export interface ServerProcess {
  child: ChildProcess
  send: Send
}

const PROGRAM = fileURLToPath(new URL('./server-process.ts', import.meta.url))

/** Starts a server process, which is killed at the end of the file. */
export const startServerProcess = async (url: string): Promise<ServerProcess> => {
  const child = spawnChild(process.execPath, ['--import', import.meta.resolve('tsx'), PROGRAM, url])
  const [, port] = await printed(child, /^(\d+)\n/m)
  return { child, send: createSender(`http://127.0.0.1:${port}/api/v1`) }
}
