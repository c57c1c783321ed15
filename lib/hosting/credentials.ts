import type { Accounts } from '../accounts/accounts.ts'
import { Tokens } from '../accounts/credentials.ts'
import { Identities } from '../accounts/identity.ts'
import { LastUses } from '../accounts/last-uses.ts'
import { PasswordLogin } from '../accounts/login.ts'
import { LoginThrottle } from '../accounts/login-throttle.ts'
import { PasswordChange, PasswordLinks } from '../accounts/own-passwords.ts'
import { Sessions } from '../accounts/sessions.ts'
import type { Host } from '../data-folder.ts'
import type { Options } from '../options/index.ts'
import { sessions as sessionRecords, tokens as tokenRecords } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'

/** Services that find the sender of a request. */
export const credentialsOf = (
  {
    store,
    host,
    options,
  }: { store: Store; host: Host; options: Pick<Options, 'login' | 'trustedProxies' | 'pages'> },
  accounts: Accounts,
) => {
  const { login, trustedProxies: proxies, pages } = options
  const { authenticate, tokens: hasTokens } = host
  const throttle = login === false ? undefined : new LoginThrottle(login)
  const passwords = new PasswordLogin(store, throttle)
  const tokenUses = new LastUses<number>(store, tokenRecords)
  const sessionUses = new LastUses<string>(store, sessionRecords)
  const sessions = new Sessions(store, sessionUses, Math.ceil(pages.sessionLifetime / 1000))
  return {
    identities: new Identities({
      store,
      accounts,
      passwords,
      tokenUses,
      throttle,
      proxies,
      authenticate,
      hasTokens,
    }),
    tokens: new Tokens(store, tokenUses),
    passwordLinks: new PasswordLinks(store, throttle, sessions),
    tokenUses,
    sessionUses,
    passwordChange: new PasswordChange(passwords, sessions),
    sessions,
  }
}
