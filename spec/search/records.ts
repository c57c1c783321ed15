import type { Account, Repository, Visibility } from '../../lib/records/schema/index.ts'

export const account = (id: number, visibility: Visibility): Account => ({
  ...{ id, kind: 'user', name: `owner-${id}`, fullName: '', email: '', website: '', description: '' },
  ...{ location: '', visibility, admin: false, active: true, password: null, createdAt: 1, updatedAt: 1 },
})

export const repository = (id: number, owner: number, isPrivate = false): Repository => ({
  ...{ id, owner, name: `name-${id}`, description: '', website: '', private: isPrivate },
  ...{ empty: true, archived: false, parent: null, defaultBranch: 'main' },
  ...{ size: 0, lfs: 0, stars: 0, forks: 0, watchers: 0, createdAt: 1, updatedAt: 1 },
})
