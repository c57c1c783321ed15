/** @jsxRuntime automatic @jsxImportSource preact */
import type { View } from './route.ts'
import { sentence } from './sign-in.tsx'

/** What is hidden and what does not exist are said in the same words. */
const MISSING = 'There is nothing here, or nothing that you may see.'

export const failureView = (status: number, message: string): View => ({
  title: titles[status] ?? 'This did not work',
  body: (
    <>
      <h1>{titles[status] ?? 'This did not work'}</h1>
      <p>{status === 404 ? MISSING : sentence(message)}</p>
    </>
  ),
})

const titles: Record<number, string> = {
  403: 'Not allowed',
  404: 'Not found',
  409: 'Already there',
  429: 'Too many tries',
  500: 'Something failed',
  503: 'Down for the moment',
}
