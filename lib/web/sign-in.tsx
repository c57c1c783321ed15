/** @jsxRuntime automatic @jsxImportSource preact */

import { Notice, Post } from './document.tsx'
import type { PageContext, View } from './route.ts'

export const signInView = (
  frame: PageContext,
  { to, name = '', failure }: { to: string; name?: string; failure?: string | undefined },
): View => ({
  title: 'Sign in',
  body: (
    <div class="narrow">
      <h1>Sign in</h1>
      {failure !== undefined && <Notice kind="over">{sentence(failure)}</Notice>}
      <Post frame={frame} to="/-/sign-in" class="stacked">
        <input type="hidden" name="to" value={to} />
        <label for="name">User name or email</label>
        <input
          id="name"
          name="name"
          value={name}
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          aria-describedby="name-hint"
        />
        <p class="hint" id="name-hint">
          Not needed with a token.
        </p>
        <label for="secret">Password or access token</label>
        <input id="secret" name="secret" type="password" autocomplete="current-password" required />
        <button type="submit">Sign in</button>
      </Post>
    </div>
  ),
})

/** Messages of errors begin in lower case and end without a stop. */
export const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`
