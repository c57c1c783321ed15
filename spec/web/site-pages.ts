import { LONG, type Site } from './site.ts'

/** The pages of people and repositories, with who opens each; nobody has signed in when absent. */
export const SITE_PAGES = ({
  commits,
}: Pick<Site, 'commits'>): Readonly<Record<string, { path: string; who?: 'mia' }>> => ({
  'a person': { path: '/mia' },
  'own page': { path: '/mia', who: 'mia' },
  'the picture of an organization': { path: '/-/avatars/guild', who: 'mia' },
  'an organization with members': { path: '/guild', who: 'mia' },
  'packages of a person': { path: '/mia/-/packages' },
  'a package': { path: '/mia/-/packages/generic/atlas-tools/1.0.0' },
  'a repository with files': { path: '/mia/atlas' },
  'own private repository': { path: '/mia/diary', who: 'mia' },
  'an empty repository': { path: '/mia/empty' },
  'a repository with a long name': { path: `/mia/${LONG}` },
  'a folder': { path: '/mia/atlas/src/branch/main/places' },
  'a source file': { path: '/mia/atlas/src/branch/main/src/draw.ts' },
  'a long source file': { path: '/mia/atlas/src/branch/main/src/long.js?from=100' },
  'a file with one long line': { path: '/mia/atlas/src/branch/main/src/one-line.js' },
  'a markdown file': { path: '/mia/atlas/src/branch/main/README.md' },
  'a picture': { path: '/mia/atlas/src/branch/main/guide/logo.png' },
  'a text from right to left': {
    path: '/mia/atlas/src/branch/main/guide/%D9%85%D9%82%D8%AF%D9%85%D8%A9.txt',
  },
  'a binary file': { path: '/mia/atlas/src/branch/main/data.bin' },
  'a submodule': { path: '/mia/atlas/src/branch/main/lib' },
  'a symbolic link': { path: '/mia/atlas/src/branch/main/draw' },
  'the history': { path: '/mia/atlas/commits' },
  'a commit': { path: `/mia/atlas/commit/${commits.main}` },
  branches: { path: '/mia/atlas/branches' },
  tags: { path: '/mia/atlas/tags' },
  issues: { path: '/mia/atlas/issues?state=all' },
  'an issue': { path: '/mia/atlas/issues/1' },
  releases: { path: '/mia/atlas/releases', who: 'mia' },
  'a release': { path: '/mia/atlas/releases/tag/v1.0' },
  nothing: { path: '/mia/atlas/src/branch/none', who: 'mia' },
})
