/** Pages of the fixture, each with the user who opens it: for the specs and the screenshots of all pages. */
export const PAGES: Readonly<Record<string, { who: string; path: string }>> = {
  'own storage': { who: 'ann', path: '/' },
  'an organization': { who: 'ann', path: '/-/storage/acme' },
  usage: { who: 'ann', path: '/-/storage/ann/usage' },
  'usage by repository': { who: 'ann', path: '/-/storage/ann/repositories' },
  'what to remove': { who: 'ann', path: '/-/storage/ann/usage?remove=builds' },
  history: { who: 'ann', path: '/-/storage/ann/history?days=90' },
  'tokens and sessions': { who: 'ann', path: '/-/account' },
  'a repository': { who: 'ann', path: '/-/storage/ann/repositories/website' },
  administration: { who: 'root', path: '/-/admin' },
  rules: { who: 'root', path: '/-/admin/rules' },
  'a rule': { who: 'root', path: '/-/admin/rule?name=total' },
  groups: { who: 'root', path: '/-/admin/groups' },
  'a group': { who: 'root', path: '/-/admin/group?name=paid' },
  'storage of another user': { who: 'root', path: '/-/storage/ben' },
  'not found': { who: 'ann', path: '/-/storage/nobody' },
}
