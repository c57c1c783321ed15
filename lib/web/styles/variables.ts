/**
 * The variables that a host may set in `pages.css`, which docs/configuration.md lists; `--mark` is not one of
 * them. The defaults have WCAG AA contrast for text in both modes. No state is shown by color alone.
 */
export const variables = `
:root { color-scheme: light dark;
  --background: #f6f7f9; --card: #ffffff; --surface: #f2f4f7; --border: #e2e5eb; --field: #858d9d;
  --text: #151a24; --muted: #566073; --link: #1a56cf; --button-text: #ffffff; --header: var(--card);
  --header-text: var(--text); --header-link: var(--text); --over: #b42318; --over-background: #fef1f0;
  --near: #874508; --near-background: #fff7e6; --success: #08663c; --success-background: #eaf8f0;
  --track: #e7eaef; --limit: #b42318; --part0: #2a66dd; --part1: #7352d9; --part2: #0b877a; --part3: #c8620a;
  --part4: #c42c80; --part5: #64708a;
  --font: Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  --radius: 8px; --space: 0.25rem; --width: 72rem; --logo-height: 1.75rem; --mark: url("icon.svg"); }
@media (prefers-color-scheme: dark) { :root {
  --background: #0d1015; --card: #161a21; --surface: #1f252e; --border: #2a313c; --field: #697486;
  --text: #e9edf3; --muted: #9aa5b6; --link: #8ab4ff; --button-text: #0b1428; --over: #ff9d94;
  --over-background: #331a1b; --near: #f5c469; --near-background: #2f2410; --success: #76dba8;
  --success-background: #11291d; --track: #2a313c; --limit: #ff9d94; --part0: #7fadfb; --part1: #b3a1f8;
  --part2: #57cdbf; --part3: #f5ae55; --part4: #f590c4; --part5: #a3aec2; } }
`
