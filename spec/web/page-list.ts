/** Pages of the fixture, each with the user who opens it: for the specs and the screenshots of all pages. */
export const PAGES: Readonly<Record<string, { who: string; path: string }>> = {
  'own storage': { who: 'ann', path: '/' },
  'an organization': { who: 'ann', path: '/-/storage/acme' },
  'a list': { who: 'ann', path: '/-/storage/ann/artifacts' },
  'a repository': { who: 'ann', path: '/-/storage/ann/repositories/website' },
  administration: { who: 'root', path: '/-/admin' },
  rules: { who: 'root', path: '/-/admin/rules' },
  'a rule': { who: 'root', path: '/-/admin/rule?name=total' },
  groups: { who: 'root', path: '/-/admin/groups' },
  'a group': { who: 'root', path: '/-/admin/group?name=paid' },
  'storage of another user': { who: 'root', path: '/-/storage/ben' },
  'not found': { who: 'ann', path: '/-/storage/nobody' },
}
