// Commands to paste into a shell. Whatever is in the arguments, the shell sees one word.

export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The admin API's call as a curl command; the token is a variable and never part of it. */
export function curl(path: string, body: string): string {
  return [
    `curl -sS ${quoted(`${location.origin}/_lunora/admin/v1${path}`)}`,
    `  -H "authorization: Bearer $LUNORA_ADMIN_TOKEN"`,
    `  -H 'content-type: application/json'`,
    `  --data-raw ${quoted(body)}`,
  ].join(" \\\n");
}
