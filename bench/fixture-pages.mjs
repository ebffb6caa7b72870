import { capital, dice, nouns, untilBytes, verbs } from './fixture-words.mjs'

/** A page of documentation in Markdown: prose, code, lists. */
export function documentation({ seed, subject, bytes, language }) {
  const { whole, pick, phrase } = dice(seed)
  const section = (i) => {
    const verb = verbs[i % verbs.length]
    const noun = pick(nouns)
    const name = `${verb}${capital(noun)}`
    return `
## ${i + 1}. ${capital(verb)} a ${noun}

Use \`${name}\` to ${verb} the ${phrase(2)} that a page needs before the ${pick(nouns)} is shown. It returns a promise
and never throws: a problem is a value with a \`reason\`.

\`\`\`${language}
const ${noun} = await ${name}({ limit: ${whole(2, 90)}, cache: '${pick(['none', 'page', 'session'])}' })
if (!${noun}.ok) return show${capital(noun)}Problem(${noun}.reason)
\`\`\`

- \`limit\`: most entries of one page, ${whole(10, 500)} unless it is given
- \`cache\`: how long a ${noun} is kept; \`session\` keeps it until the ${pick(nouns)} is closed
`
  }
  return untilBytes(bytes, `# ${subject}\n\nHow the ${subject.toLowerCase()} of a page is put together, step by step.\n`, section)
}

/** What a browser tool says of a page: the tree of accessible elements, as YAML. */
export function pageSnapshot({ seed, bytes }) {
  const { whole, pick, phrase } = dice(seed)
  let ref = 1
  const at = () => {
    ref += 1
    return `[ref=e${ref}]`
  }
  const head = `### Page state
- Page URL: https://shop.example.test/catalogue?sort=newest
- Page Title: Catalogue
- Page Snapshot:
\`\`\`yaml
- generic [ref=e1]:
  - banner ${at()}:
    - link "Shop" ${at()} [cursor=pointer]:
      - /url: /
    - searchbox "Search the catalogue" ${at()}
  - main ${at()}:
    - heading "Catalogue" [level=1] ${at()}
    - list ${at()}:
`
  const item = (i) => {
    const title = capital(phrase(3))
    return `      - listitem ${at()}:
        - article "${title}" ${at()}:
          - heading "${title}" [level=3] ${at()}
          - img "${title}, ${pick(['front', 'side', 'detail'])}" ${at()}
          - paragraph ${at()}: ${capital(phrase(whole(6, 11)))}.
          - text: ${whole(4, 240)}.${whole(10, 99)} EUR
          - button "Put item ${i + 1} into the basket" ${at()} [cursor=pointer]
          - link "Details" ${at()} [cursor=pointer]:
            - /url: /item/${1000 + i}/${title.toLowerCase().replaceAll(' ', '-')}
`
  }
  return `${untilBytes(bytes - 90, head, item)}  - contentinfo ${at()}:\n    - link "Imprint" ${at()} [cursor=pointer]:\n      - /url: /imprint\n\`\`\`\n`
}

/** The requests of a page, as a browser tool lists them. */
export const requestList = () => `[GET] https://shop.example.test/catalogue?sort=newest => [200] OK
[GET] https://shop.example.test/assets/app-4f1c09.css => [200] OK
[GET] https://shop.example.test/assets/app-77ab31.js => [200] OK
[GET] https://shop.example.test/api/items?sort=newest&page=1 => [200] OK
[POST] https://metrics.example.test/collect => [204] No Content
[GET] https://shop.example.test/assets/icons.svg => [304] Not Modified
`
