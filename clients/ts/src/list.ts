// Lists come in pages; `rowsOf` reads through them.
export interface Page<Row> {
  object: 'list'
  data: Row[]
  has_more: boolean
  next_cursor: string | null
}

export interface PageQuery {
  limit?: number
  starting_after?: string
  ending_before?: string
}

export async function* rowsOf<Row, Query extends PageQuery>(list: (query: Query) => Promise<Page<Row>>, query: Query): AsyncGenerator<Row> {
  for (let page = await list(query); ; page = await list({ ...query, starting_after: page.next_cursor! })) {
    yield* page.data
    if (!page.has_more || page.next_cursor === null) return
  }
}
